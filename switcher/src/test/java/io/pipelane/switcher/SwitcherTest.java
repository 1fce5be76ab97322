package io.pipelane.switcher;

import io.pipelane.lanes.TestDevices;

class SwitcherTest extends SwitcherContract {
  SwitcherTest() {
    super(TestDevices.open(WEIGHTS, PAGE), TestDevices::sessions);
  }
}
