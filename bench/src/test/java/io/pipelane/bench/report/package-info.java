/** Tests of reports. */
@NullMarked
package io.pipelane.bench.report;

import org.jspecify.annotations.NullMarked;
