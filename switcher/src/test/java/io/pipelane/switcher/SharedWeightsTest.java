package io.pipelane.switcher;

import io.pipelane.lanes.TestDevices;

/** Versions that hold pages together, with sessions of this process. */
class SharedWeightsTest extends SharedWeightsContract {
  SharedWeightsTest() {
    super(
        settings ->
            TestedSwitchers.alone(
                TestDevices.open(WEIGHTS, PAGE), TestDevices::sessions, settings, ReadWeights::of));
  }
}
