/** Scheduling: the queue of requests, its policy, and the lanes' threads. */
@NullMarked
package io.pipelane.switcher.schedule;

import org.jspecify.annotations.NullMarked;
