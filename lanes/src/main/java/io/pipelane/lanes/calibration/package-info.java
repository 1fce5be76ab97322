/** What a device's link and arithmetic are good for: measured once, kept, asked by bytes. */
@NullMarked
package io.pipelane.lanes.calibration;

import org.jspecify.annotations.NullMarked;
