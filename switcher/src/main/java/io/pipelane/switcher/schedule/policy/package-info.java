/** The orders in which requests run, and the room that they find beside what runs. */
@NullMarked
package io.pipelane.switcher.schedule.policy;

import org.jspecify.annotations.NullMarked;
