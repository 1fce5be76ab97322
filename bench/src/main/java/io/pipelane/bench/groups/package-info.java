/** Groups of jobs that are wanted all at once. */
@NullMarked
package io.pipelane.bench.groups;

import org.jspecify.annotations.NullMarked;
