// The errors that Jali throws. Each message is one sentence, in the user's words, with the numbers that disagree.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace jali {

// Anything that a caller can cause: bad input, sizes that disagree, files that cannot be read. Base of the others.
class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

// The text form of a predicate does not parse, or parses to something that is no predicate.
class ParseError : public Error {
   public:
    ParseError(const std::string& message, int64_t column) : Error(message), column_(column) {}

    // One-based position, in bytes of the text, of the first character that is wrong.
    int64_t column() const { return column_; }

   private:
    int64_t column_;
};

// The value of a predicate does not exist at a real (b, h, q, kv): a table read out of range, a division by zero, a
// value outside 64 bits, a shift by a negative count. Reported for the first failing pair in (b, h, q, kv) order.
class EvaluationError : public Error {
   public:
    EvaluationError(const std::string& message, int64_t b, int64_t h, int64_t q, int64_t kv)
        : Error(message), b_(b), h_(h), q_(q), kv_(kv) {}

    int64_t b() const { return b_; }
    int64_t h() const { return h_; }
    int64_t q() const { return q_; }
    int64_t kv() const { return kv_; }

   private:
    int64_t b_, h_, q_, kv_;
};

// A file is missing, unreadable, truncated, altered, of a newer version, or inconsistent inside; or cannot be written.
class FileError : public Error {
   public:
    using Error::Error;
};

// The result would be larger than the stated limit of bytes; nothing was allocated for it.
class LimitError : public Error {
   public:
    using Error::Error;
};

}  // namespace jali
