/* The table of attacks, made from attacks.inc.  A test that adds rows compiles this file with another list. */
#include "attack/attack.h"

#ifndef ATTACKS
#define ATTACKS "attack/attacks.inc"
#endif

#define ATTACK(name, before, help) extern const struct nvdp__attack nvdp__attack_row_##name;
#include ATTACKS
#undef ATTACK

#define ATTACK(name, before, help) &nvdp__attack_row_##name,
const struct nvdp__attack *const nvdp__attacks[] = {
#include ATTACKS
    NULL};
#undef ATTACK

#define ATTACK(name, before, help) #name,
const char *const nvdp__attack_names[] = {
#include ATTACKS
    NULL};
#undef ATTACK

#define ATTACK(name, before, help) help,
const char *const nvdp__attack_helps[] = {
#include ATTACKS
    NULL};
#undef ATTACK

#define ATTACK(name, before, help) " " #name
const char nvdp__attack_kind_help[] = "one of"
#include ATTACKS
#undef ATTACK
#define ATTACK(name, before, help) before #name " (" help ")"
#include ATTACKS
    ;
