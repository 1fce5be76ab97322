/** The turns at computing, and how runs give them up at gates and go on. */
@NullMarked
package io.pipelane.switcher.schedule.turn;

import org.jspecify.annotations.NullMarked;
