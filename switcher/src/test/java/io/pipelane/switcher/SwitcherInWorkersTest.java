package io.pipelane.switcher;

import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import java.time.Duration;

/** The switcher with a worker process and one that stands by is no different. */
class SwitcherInWorkersTest extends SwitcherContract {
  SwitcherInWorkersTest() {
    super(
        (settings, weights) ->
            TestedSwitchers.alone(
                TestDevices.openForWorkers(WEIGHTS, PAGE),
                (device, memory) ->
                    TestDevices.workers(
                        (SharedDevice) device, 2 * LANES, 1, Duration.ofSeconds(20)),
                settings,
                weights));
  }
}
