// Defines JALI_SANITIZED where the address or the thread sanitizer watches: memory is then not what it is elsewhere.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JALI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JALI_SANITIZED 1
#endif
#endif
