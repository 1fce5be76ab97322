/** Devices and what is lent from them: pages, events, copies, persistent memory and lanes. */
@NullMarked
package io.pipelane.lanes;

import org.jspecify.annotations.NullMarked;
