#include "tools/cli.h"

int main(int argc, char **argv) { return nestsmith::cli_main(argc, argv); }
