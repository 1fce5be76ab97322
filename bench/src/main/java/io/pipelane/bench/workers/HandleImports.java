package io.pipelane.bench.workers;

import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import java.util.ArrayList;
import java.util.List;

/**
 * The time that it takes a worker to have the pages of one model at its addresses, group by group.
 * The device's memory is opened once for all, as workers do, or anew for each group (PipeSwitch
 * §6.3, no IPC optimization). The pages are of this process, and so are the mappings: it costs no
 * message to pass a handle.
 */
interface HandleImports extends AutoCloseable {
  /** A group's bytes {@code [begin, end)} in the model's weights. */
  record Group(long begin, long end) {}

  /**
   * Lends a model all its pages.
   *
   * @param groupBytes what each of the copies moves that bring the model in, in their order
   */
  static HandleImports of(DeviceSelection device, List<Long> groupBytes, long pageBytes) {
    List<Group> groups = new ArrayList<>();
    long end = 0;
    for (long bytes : groupBytes) {
      groups.add(new Group(end, end + bytes));
      end += bytes;
    }
    return device instanceof DeviceSelection.Cuda cuda
        ? new CudaHandleImports(CudaDriver.load(), cuda.ordinals().getFirst(), groups, pageBytes)
        : new CpuHandleImports(groups, pageBytes);
  }

  /** Milliseconds to map all groups, one by one, of memory that is open. */
  double openedOnceMillis() throws Exception;

  /** Milliseconds to do the same when each group's handles are exported and opened for it. */
  double openedPerGroupMillis() throws Exception;

  @Override
  void close();
}
