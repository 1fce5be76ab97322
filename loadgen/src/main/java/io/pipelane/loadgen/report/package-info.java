/** Results for people and for programs. */
@NullMarked
package io.pipelane.loadgen.report;

import org.jspecify.annotations.NullMarked;
