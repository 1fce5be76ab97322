/**
 * The look at a device that online and offline work share: its samples, its errors and its state
 * (MuxFlow's monitor).
 */
@NullMarked
package io.pipelane.switcher.sharing.monitor;

import org.jspecify.annotations.NullMarked;
