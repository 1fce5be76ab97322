package io.pipelane.switcher;

import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;

/** The switcher with a worker process and one that stands by is no different. */
class SwitcherInWorkersTest extends SwitcherContract {
  SwitcherInWorkersTest() {
    super(
        (settings, weights) ->
            TestedSwitchers.alone(
                TestDevices.openForWorkers(WEIGHTS, PAGE),
                (device, memory) ->
                    TestDevices.workers((SharedDevice) device, new TestWorkers(0).lanes(2 * LANES)),
                settings,
                weights));
  }
}
