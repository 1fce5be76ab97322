package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphNodeType;
import jcuda.driver.JCudaDriver;

/** What a stream has captured: nodes of device work and their order. */
public final class CapturedGraph implements AutoCloseable {
  static final class Handle extends CUgraph {
    long address() {
      return getNativePointer();
    }
  }

  private final CudaContext context;
  private final Handle handle;
  private boolean closed;

  CapturedGraph(CudaContext context, Handle handle) {
    this.context = context;
    this.handle = handle;
  }

  /** The graph's copies. */
  public List<CopyNode> copies() {
    List<CopyNode> copies = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment parameters = CopyParameters.allocate(arena);
      for (long node : nodes()) {
        if (type(node) == CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMCPY) {
          context.functions().copyNodeParameters.call(node, parameters.address());
          copies.add(CopyParameters.read(node, parameters, context::memoryType));
        }
      }
    }
    return copies;
  }

  /**
   * Lets a copy read from device memory instead of where it was captured from.
   *
   * @param deviceAddress where as many bytes are, contiguous
   * @throws IllegalArgumentException when the copy is not of one contiguous stretch
   */
  public void replaceSource(CopyNode copy, long deviceAddress) {
    if (!copy.isContiguous()) {
      throw new IllegalArgumentException("only a contiguous copy can be replaced: " + copy);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment parameters = CopyParameters.allocate(arena);
      context.functions().copyNodeParameters.call(copy.node(), parameters.address());
      CopyParameters.readFromDevice(parameters, deviceAddress);
      context.functions().setCopyNodeParameters.call(copy.node(), parameters.address());
    }
  }

  /** Whether the graph calls functions on the host; it would run them at each launch. */
  public boolean hasHostNodes() {
    for (long node : nodes()) {
      if (type(node) == CUgraphNodeType.CU_GRAPH_NODE_TYPE_HOST) {
        return true;
      }
    }
    return false;
  }

  /** Makes the graph, as it is now, ready to be launched; the graph may be closed afterwards. */
  public ExecutableGraph instantiate() {
    return new ExecutableGraph(handle);
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      int result = JCudaDriver.cuGraphDestroy(handle);
      if (result != 0) {
        throw CudaException.of(result, "cuGraphDestroy", handle.address());
      }
    }
  }

  private long[] nodes() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(JAVA_LONG);
      context.functions().graphNodes.call(handle.address(), 0, count.address());
      long total = count.get(JAVA_LONG, 0);
      if (total == 0) {
        return new long[0];
      }
      MemorySegment nodes = arena.allocate(JAVA_LONG, total);
      context.functions().graphNodes.call(handle.address(), nodes.address(), count.address());
      return nodes.toArray(JAVA_LONG);
    }
  }

  private int type(long node) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment type = arena.allocate(JAVA_INT);
      context.functions().nodeType.call(node, type.address());
      return type.get(JAVA_INT, 0);
    }
  }
}
