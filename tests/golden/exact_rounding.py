#!/usr/bin/env python3
"""The digest that tests/base/test_exact_normal.c (rounds_as_rational_arithmetic_does) compares with: its 100,000 cases rounded with rational numbers."""
from fractions import Fraction
from math import floor

MASK = (1 << 64) - 1
state = 20261122


def mix():
    global state
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def to_an_edge(q, significand, mean, negative, whole, digit, digits, last):
    """The value that ends the cell of the deviate's first digit, in 2^-32 steps: k + x of it to so many digits."""
    sigma = Fraction(significand) * Fraction(2) ** (q - 52)                     # steps
    b = Fraction(-mean if negative else mean, 1 << 32) + Fraction(1, 2)         # steps
    cell = floor(b + sigma * (whole + Fraction(digit[0], 1 << 64)))
    edge = (cell + 1 - b) / sigma
    if floor(edge) > 1000:
        return whole
    rest = edge - floor(edge)
    for i in range(digits):
        rest *= 1 << 64
        digit[i] = floor(rest)
        rest -= floor(rest)
    digit[digits - 1] = (digit[digits - 1] + last) & MASK
    return floor(edge)


digest = 0xCBF29CE484222325
for i in range(100000):
    exponent = (-10, -12, -16, 3)[mix() % 4]
    q = mix() % 61 - 30
    if i % 3 == 0:
        q = 10
    significand = (1 << 52) | mix() >> 12
    if i % 3 == 0 or q == 30:
        significand = 1 << 52
    mean = mix()
    if mean >> 63:
        mean -= 1 << 64
    mean >>= 1 + mix() % 50
    whole = mix() % 13
    negative = mix() & 1
    digit = [mix() for _ in range(8)]
    choice = mix()
    if i % 2 == 0:
        whole = to_an_edge(q, significand, mean, negative, whole, digit, 1 + choice % 4, (choice >> 8) % 5 - 2)
    eps = whole + sum(Fraction(d, 1 << (64 * (k + 1))) for k, d in enumerate(digit))
    sigma = Fraction(significand) * Fraction(2) ** (q - 52)
    value = Fraction(-mean if negative else mean, 1 << 32) + sigma * eps
    n = max(-0x7FFFFFFF, min(0x7FFFFFFF, floor(value + Fraction(1, 2))))
    n = -n if negative else n
    for k in range(4):
        digest = ((digest ^ (n >> (8 * k) & 255)) * 0x100000001B3) & MASK
print(f"{digest:016x}")
