/**
 * Settings of worker processes: how many there are, what each executes, and how long it may take.
 */
@NullMarked
package io.pipelane.lanes.process.settings;

import org.jspecify.annotations.NullMarked;
