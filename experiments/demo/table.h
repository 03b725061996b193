/* The demo's closing table, from the JSON files that its runs left. */
#ifndef NVDP_DEMO_TABLE_H
#define NVDP_DEMO_TABLE_H

/* Writes OUT/table.txt from OUT/runs/<name>/{result,privacy,reuse,attack}.json, a row a name. */
int demo_table(const char *out, int names, char **name);

#endif
