package io.pipelane.switcher;

import io.pipelane.lanes.TestDevices;

/** Two devices that serve as one are no different. */
class SwitcherOfTwoDevicesTest extends SwitcherContract {
  SwitcherOfTwoDevicesTest() {
    super(
        (settings, weights) ->
            TestedSwitchers.group(
                TestDevices.openTwo(WEIGHTS, PAGE), TestDevices::sessions, settings, weights));
  }
}
