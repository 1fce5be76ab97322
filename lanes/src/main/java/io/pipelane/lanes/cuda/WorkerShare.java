package io.pipelane.lanes.cuda;

import io.pipelane.lanes.Releases;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cpu.SlotTable;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.VirtualMemory;

/** The parts of a device that are shared with worker processes beside its pages' contents. */
final class WorkerShare implements AutoCloseable {
  private final Releases releases = new Releases();
  private final CudaContext context;
  private final CudaPagePool pages;
  private final CudaStates states;
  private final SlotTable slotTable;
  private final ArrivalCount arrivals;
  private final PageHandover handover;

  WorkerShare(CudaContext context, VirtualMemory memory, CudaPagePool pages, CudaStates states) {
    this.context = context;
    this.pages = pages;
    this.states = states;
    try (Releases undo = new Releases()) {
      slotTable = undo.add(new SlotTable());
      arrivals = undo.add(ArrivalCount.create(context));
      handover = undo.add(new PageHandover(memory, pages, states));
      undo.keep();
    }
    releases.add(slotTable);
    releases.add(arrivals);
    releases.add(handover);
  }

  SlotTable slotTable() {
    return slotTable;
  }

  ArrivalCount arrivals() {
    return arrivals;
  }

  CudaExport export(
      ExecutionSettings execution, PartialLanes partial, SharedMemory transferMemory) {
    return new CudaExport(
        ProcessHandle.current().pid(),
        context.index(),
        handover.name(),
        pages.count(),
        pages.lent().pageBytes(),
        slotTable.memory().descriptor(),
        slotTable.memory().segment().byteSize(),
        arrivals.descriptor(),
        states.table().descriptor(),
        states.count(),
        transferMemory.descriptor(),
        transferMemory.segment().byteSize(),
        execution,
        partial);
  }

  @Override
  public void close() {
    releases.close();
  }
}
