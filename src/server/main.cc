#include "server/run.h"

int main(int argc, char** argv) {
  return stator::server::run(argc, argv);
}
