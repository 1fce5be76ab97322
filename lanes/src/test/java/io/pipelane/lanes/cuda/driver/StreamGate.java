package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamWaitValue_flags;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Holds streams until a test lets them go on; once, and no later than when it is closed. */
public final class StreamGate implements AutoCloseable {
  private static final VarHandle FLAG = ValueLayout.JAVA_INT.varHandle();

  private final PinnedHostMemory flag;
  private final CUstream waiting = new CUstream();
  private final CudaMark passed;

  /** Opens a gate that is shut. */
  public StreamGate(CudaContext context) {
    context.bind();
    flag = PinnedHostMemory.allocate(context, Integer.BYTES);
    FLAG.setVolatile(flag.segment(), 0L, 0);
    passed = CudaMark.untimed(context);
    check(JCudaDriver.cuStreamCreate(waiting, CUstream_flags.CU_STREAM_NON_BLOCKING));
    check(
        JCudaDriver.cuStreamWaitValue32(
            waiting,
            new DeviceAddress(flag.address()),
            1,
            CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ));
    check(JCudaDriver.cuEventRecord(passed.handle(), waiting));
  }

  /** What is enqueued on a stream from now on waits for the gate. */
  public void hold(CudaStream stream) {
    stream.waitFor(passed);
  }

  /** Lets everything go on. */
  public void release() {
    FLAG.setVolatile(flag.segment(), 0L, 1);
  }

  @Override
  public void close() {
    release();
    check(JCudaDriver.cuStreamSynchronize(waiting));
    check(JCudaDriver.cuStreamDestroy(waiting));
    passed.close();
    flag.close();
  }

  private static void check(int result) {
    assertEquals(0, result, "CUDA's result");
  }
}
