//===- NumberWords.h - numbers of the tensor language -----------*- C++ -*-===//
//
// Every 64-bit integer, without loss, from 170 words: first how large it is,
// then its small prime factors, then what is left.
//
//   0 ... 16          themselves
//   56   = ~2^5 *8 *7             in [2^5, 2^6); the powers of 2, 3, 5 and 7,
//                                 ascending primes, at most *65536, *729, *625
//                                 and *343, repeated where there is more
//   197  = ~2^7 .3 .5             3 * 64 + 5: the cofactor to base 64
//   1009 = ~2^9 .15 .49           1013 = ~2^9 .15 .53
//   -3   = - 3
//
// The magnitude says where a number ends: once the factors reach it there is no
// cofactor, else as many digits as the largest possible cofactor has.
//
// A real is the shortest decimal that reads back as its bits, mantissa and
// power of ten: 1e-05 = 1 e - 5; 0.125 = ~2^6 *125 e - 3; inf, - inf, nan.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_NUMBERWORDS_H
#define TLM_LANG_NUMBERWORDS_H

#include "lang/TokenReader.h"

namespace tlm {

void appendInteger(std::vector<Token> &tokens, int64_t value);
void appendReal(std::vector<Token> &tokens, float value);
void appendReal(std::vector<Token> &tokens, double value);

/// Whether the next word begins an integer.
bool beginsInteger(const TokenReader &reader);

/// Refuse what append... does not write.
Result<int64_t> readInteger(TokenReader &reader);
Result<float> readFloat(TokenReader &reader);
Result<double> readDouble(TokenReader &reader);

/// All words of numbers, for neededWords().
std::vector<std::string> neededNumberWords();

} // namespace tlm

#endif // TLM_LANG_NUMBERWORDS_H
