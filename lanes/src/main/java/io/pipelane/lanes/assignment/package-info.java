/** The assignment of jobs to lanes after Salus, free of any device. */
@NullMarked
package io.pipelane.lanes.assignment;

import org.jspecify.annotations.NullMarked;
