package io.pipelane.lanes.cuda.driver;

import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/**
 * A kernel that brings pinned host memory to the device by reading it, where a copy would have to
 * wait for a copy engine that another process holds. Safe for any thread.
 */
public final class HostReader {
  /*
   * Copies of several processes pass the engine in turns of about a millisecond, however short they
   * are. Kernels read over the same link at the same time.
   *
   * A thread reads sixteen bytes at a time. Some hundred thousand bytes are to be on their way for
   * the link to be busy; BLOCKS times THREADS have 262,144.
   */
  private static final System.Logger LOG = System.getLogger(HostReader.class.getName());

  private static final int BLOCKS = 16;
  private static final int THREADS = 1024;
  private static final long WORD_BYTES = 16;

  private static final String NAME = "read";

  private static final String SOURCE =
      """
      .version 7.0
      .target sm_70
      .address_size 64
      .visible .entry read(.param .u64 to, .param .u64 from, .param .u64 words, .param .u64 bytes)
      {
        .reg .pred %end;
        .reg .u32 %block, %size, %thread, %blocks, %a, %b, %c, %d;
        .reg .u64 %to, %from, %words, %bytes, %at, %step, %offset, %source, %target;
        ld.param.u64 %to, [to];
        ld.param.u64 %from, [from];
        ld.param.u64 %words, [words];
        ld.param.u64 %bytes, [bytes];
        mov.u32 %block, %ctaid.x;
        mov.u32 %size, %ntid.x;
        mov.u32 %thread, %tid.x;
        mov.u32 %blocks, %nctaid.x;
        cvt.u64.u32 %at, %thread;
        mad.wide.u32 %at, %block, %size, %at;
        mul.wide.u32 %step, %blocks, %size;
        mov.u64 %offset, %at;
      WORDS:
        setp.ge.u64 %end, %offset, %words;
        @%end bra REST;
        shl.b64 %source, %offset, 4;
        add.u64 %target, %to, %source;
        add.u64 %source, %from, %source;
        ld.global.v4.u32 {%a, %b, %c, %d}, [%source];
        st.global.v4.u32 [%target], {%a, %b, %c, %d};
        add.u64 %offset, %offset, %step;
        bra WORDS;
      REST:
        shl.b64 %offset, %words, 4;
        add.u64 %offset, %offset, %at;
      BYTES:
        setp.ge.u64 %end, %offset, %bytes;
        @%end bra DONE;
        add.u64 %source, %from, %offset;
        add.u64 %target, %to, %offset;
        ld.global.u8 %a, [%source];
        st.global.u8 [%target], %a;
        add.u64 %offset, %offset, %step;
        bra BYTES;
      DONE:
        ret;
      }
      """;

  private final CUfunction function;

  private HostReader(CUfunction function) {
    this.function = function;
  }

  /**
   * Has the driver compile the kernel for a device; it stays as long as the context.
   *
   * @return empty where the device cannot read pinned memory, or the driver does not compile
   */
  public static Optional<HostReader> open(CudaContext context) {
    if (!context.readsPinnedMemory()) {
      return Optional.empty();
    }
    context.bind();
    CUmodule module = new CUmodule();
    CUfunction function = new CUfunction();
    byte[] source = (SOURCE + "\0").getBytes(StandardCharsets.US_ASCII);
    int result = JCudaDriver.cuModuleLoadData(module, source);
    if (result == 0) {
      result = JCudaDriver.cuModuleGetFunction(function, module, NAME);
    }
    if (result != 0) {
      LOG.log(
          Level.WARNING,
          "inputs wait for the weights of other models, as the driver does not compile a kernel",
          CudaException.of(result, "cuModuleLoadData"));
      return Optional.empty();
    }
    return Optional.of(new HostReader(function));
  }

  /**
   * Enqueues the reading of pinned host memory, which must stay until then. It is fast where both
   * addresses are multiples of sixteen.
   */
  public void read(CudaStream stream, long device, long host, long bytes) {
    long words = (device | host) % WORD_BYTES == 0 ? bytes / WORD_BYTES : 0;
    stream.launch(
        function,
        BLOCKS,
        THREADS,
        Pointer.to(number(device), number(host), number(words), number(bytes)));
    stream.context().carries(bytes);
  }

  private static Pointer number(long value) {
    return Pointer.to(new long[] {value});
  }
}
