package io.pipelane.switcher;

import io.pipelane.lanes.TestDevices;

class SwitcherTest extends SwitcherContract {
  SwitcherTest() {
    super(
        (settings, weights) ->
            TestedSwitchers.alone(
                TestDevices.open(WEIGHTS, PAGE), TestDevices::sessions, settings, weights));
  }
}
