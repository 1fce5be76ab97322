/**
 * Calibration: the speed of a device's link and arithmetic, measured once, kept, asked by bytes.
 */
@NullMarked
package io.pipelane.lanes.calibration;

import org.jspecify.annotations.NullMarked;
