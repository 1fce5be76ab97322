/** The threads that run requests, and the one that has weights come ahead of them. */
@NullMarked
package io.pipelane.switcher.schedule.run;

import org.jspecify.annotations.NullMarked;
