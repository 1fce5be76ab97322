/** Series of load tests: several runs of each load, sweeps, searches, comparisons. */
@NullMarked
package io.pipelane.loadgen.experiment;

import org.jspecify.annotations.NullMarked;
