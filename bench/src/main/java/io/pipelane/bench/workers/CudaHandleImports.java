package io.pipelane.bench.workers;

import io.pipelane.bench.measure.Timing;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.lanes.descriptors.UnixSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** The imports of a GPU's memory: each page has a handle of its own. */
final class CudaHandleImports implements HandleImports {
  private final CudaContext context;
  private final VirtualMemory memory;
  private final List<Group> groups;
  private final long pageBytes;
  private final List<Long> pages = new ArrayList<>();
  private final List<Long> opened = new ArrayList<>();

  CudaHandleImports(CudaDriver driver, int ordinal, List<Group> groups, long pageBytes) {
    this.context = CudaContext.open(driver, ordinal);
    this.memory = new VirtualMemory(context);
    this.groups = List.copyOf(groups);
    this.pageBytes = pageBytes;
    long end = groups.isEmpty() ? 0 : groups.getLast().end();
    for (long at = 0; at < end; at += pageBytes) {
      pages.add(memory.create(pageBytes));
      opened.add(exportedAndOpened(pages.getLast()));
    }
  }

  private long exportedAndOpened(long page) {
    int descriptor = memory.export(page);
    try {
      return memory.importFrom(descriptor);
    } finally {
      UnixSocket.close(descriptor);
    }
  }

  @Override
  public double openedOnceMillis() throws Exception {
    return mappedMillis(page -> opened.get(Math.toIntExact(page)));
  }

  @Override
  public double openedPerGroupMillis() throws Exception {
    List<Long> imports = new ArrayList<>();
    try {
      return mappedMillis(
          page -> {
            imports.add(exportedAndOpened(pages.get(Math.toIntExact(page))));
            return imports.getLast();
          });
    } finally {
      imports.forEach(memory::release);
    }
  }

  /**
   * Maps the pages of each group that none before it has needed.
   *
   * @param handles what to map, by page
   */
  private double mappedMillis(LongUnaryOperator handles) throws Exception {
    long bytes = pages.size() * pageBytes;
    long address = memory.reserve(bytes, pageBytes);
    try {
      return Timing.millis(() -> groups.forEach(group -> map(address, group, handles)));
    } finally {
      memory.unmap(address, bytes);
      memory.free(address, bytes);
    }
  }

  private void map(long address, Group group, LongUnaryOperator handles) {
    long first = Math.ceilDiv(group.begin(), pageBytes);
    long end = Math.ceilDiv(group.end(), pageBytes);
    for (long page = first; page < end; page++) {
      memory.map(address + page * pageBytes, pageBytes, handles.applyAsLong(page));
    }
    if (first < end) {
      memory.allowAccess(address + first * pageBytes, (end - first) * pageBytes);
    }
  }

  @Override
  public void close() {
    opened.forEach(memory::release);
    pages.forEach(memory::release);
    context.close();
  }
}
