package io.pipelane.lanes.cuda;

import io.pipelane.lanes.DeviceExport;
import java.util.List;

/**
 * What a worker process opens a GPU of another process by.
 *
 * @param process the process that has the device
 * @param device CUDA's number of it
 * @param pageSocket where its pages are handed over
 * @param slotTable the descriptor of the table of what lies under which slot
 * @param arrivals the descriptor of the count of arrivals
 * @param stateTable the descriptor of the table of what lies at which page of its states
 * @param statePages how many pages of states there are addresses for
 * @param transferMemory the descriptor of the transfer memory, where there is some for workers
 * @param transferBytes 0 where there is none
 * @param partial which lanes keep to a part of the device
 */
public record CudaExport(
    long process,
    int device,
    String pageSocket,
    int pages,
    long pageBytes,
    int slotTable,
    long slotTableBytes,
    int arrivals,
    int stateTable,
    int statePages,
    int transferMemory,
    long transferBytes,
    ExecutionSettings execution,
    PartialLanes partial)
    implements DeviceExport {
  public static final String KIND = "cuda";

  private static final int NO_DESCRIPTOR = -1;

  /** The same for workers that are to see no inputs and outputs but those of their own runs. */
  public CudaExport withoutTransferMemory() {
    return new CudaExport(
        process,
        device,
        pageSocket,
        pages,
        pageBytes,
        slotTable,
        slotTableBytes,
        arrivals,
        stateTable,
        statePages,
        NO_DESCRIPTOR,
        0,
        execution,
        partial);
  }

  @Override
  public String kind() {
    return KIND;
  }

  @Override
  public boolean computesBehindGates() {
    return true;
  }

  @Override
  public List<String> toList() {
    return List.of(
        Long.toString(process),
        Integer.toString(device),
        pageSocket,
        Integer.toString(pages),
        Long.toString(pageBytes),
        Integer.toString(slotTable),
        Long.toString(slotTableBytes),
        Integer.toString(arrivals),
        Integer.toString(stateTable),
        Integer.toString(statePages),
        Integer.toString(transferMemory),
        Long.toString(transferBytes),
        Boolean.toString(execution.tf32()),
        execution.cublasWorkspace(),
        Integer.toString(execution.captures().afterRequests()),
        Integer.toString(execution.captures().maximumCaptures()),
        Integer.toString(partial.first()),
        partial.percentsText());
  }

  /** Reads what {@link #toList} has written. */
  public static CudaExport of(List<String> words) {
    return new CudaExport(
        Long.parseLong(words.get(0)),
        Integer.parseInt(words.get(1)),
        words.get(2),
        Integer.parseInt(words.get(3)),
        Long.parseLong(words.get(4)),
        Integer.parseInt(words.get(5)),
        Long.parseLong(words.get(6)),
        Integer.parseInt(words.get(7)),
        Integer.parseInt(words.get(8)),
        Integer.parseInt(words.get(9)),
        Integer.parseInt(words.get(10)),
        Long.parseLong(words.get(11)),
        new ExecutionSettings(
            Boolean.parseBoolean(words.get(12)),
            words.get(13),
            new CaptureSettings(Integer.parseInt(words.get(14)), Integer.parseInt(words.get(15)))),
        PartialLanes.of(Integer.parseInt(words.get(16)), words.get(17)));
  }
}
