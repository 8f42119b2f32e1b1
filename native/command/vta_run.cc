// The program vta-run; its work is in the library, so that Python can do it too.
#include "vta_runtime.h"

int main(int count, char** arguments) { return vta_runtime_main(count, arguments); }
