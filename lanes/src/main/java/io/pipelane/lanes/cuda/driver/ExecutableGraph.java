package io.pipelane.lanes.cuda.driver;

import jcuda.driver.CUgraphExec;
import jcuda.driver.JCudaDriver;

/**
 * A captured graph made ready for {@link CudaStream#launch}, as often as wanted; its launches never
 * run at the same time.
 */
public final class ExecutableGraph implements AutoCloseable {
  private static final class Handle extends CUgraphExec {
    long address() {
      return getNativePointer();
    }
  }

  private final Handle handle = new Handle();
  private boolean closed;

  ExecutableGraph(CapturedGraph.Handle graph) {
    int result = JCudaDriver.cuGraphInstantiate(handle, graph, 0);
    if (result != 0) {
      throw CudaException.of(result, "cuGraphInstantiate", graph.address(), 0);
    }
  }

  CUgraphExec handle() {
    return handle;
  }

  long address() {
    return handle.address();
  }

  /** Destroys it; a launch that is enqueued is still carried out. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      int result = JCudaDriver.cuGraphExecDestroy(handle);
      if (result != 0) {
        throw CudaException.of(result, "cuGraphExecDestroy", address());
      }
    }
  }
}
