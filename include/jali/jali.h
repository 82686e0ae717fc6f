// All of the public C++ interface of libjali. The audit (jali/audit*.h) is a library of its own, jali::audit.
#pragma once

#include "jali/attention.h"
#include "jali/block_mask.h"
#include "jali/cuda.h"
#include "jali/error.h"
#include "jali/mask_file.h"
#include "jali/picture.h"
#include "jali/predicate.h"
#include "jali/predicate_text.h"
#include "jali/reference.h"
#include "jali/table.h"
#include "jali/tensor.h"
