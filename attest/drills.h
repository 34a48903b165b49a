#ifndef ATTEST_DRILLS_H
#define ATTEST_DRILLS_H
/*
 * The drills that ship with the suite, each as a case: rehearsed by `agent`, it ends as it states.
 */
#include "attest/suites.h"

/* The suite `drills`, read from the folder they were installed to. NULL, with `err`, when it is not
 * there. It lives as long as the process. */
const struct suite *drills_suite(struct error *err);

#endif
