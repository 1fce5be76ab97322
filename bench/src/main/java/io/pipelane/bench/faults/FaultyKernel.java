package io.pipelane.bench.faults;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/** Kernels that no GPU survives well. */
enum FaultyKernel {
  /** Writes where nothing is; its context is lost. */
  ILLEGAL(1, 1),
  /** Takes the whole GPU, as more of it than run at once on any, and never ends. */
  ENDLESS(1 << 14, 1024);

  private static final String SOURCE =
      """
      .version 7.0
      .target sm_70
      .address_size 64
      .visible .entry illegal()
      {
        .reg .u64 %address;
        .reg .u32 %value;
        mov.u64 %address, 16;
        mov.u32 %value, 1;
        st.global.u32 [%address], %value;
        ret;
      }
      .visible .entry endless()
      {
      AGAIN:
        bra AGAIN;
      }
      """;

  private final int blocks;
  private final int threads;

  FaultyKernel(int blocks, int threads) {
    this.blocks = blocks;
    this.threads = threads;
  }

  /** Launches it in the context of the calling thread. */
  void launch() {
    CUmodule module = new CUmodule();
    byte[] source = (SOURCE + "\0").getBytes(StandardCharsets.US_ASCII);
    check(JCudaDriver.cuModuleLoadData(module, source), "cuModuleLoadData");
    CUfunction function = new CUfunction();
    String name = name().toLowerCase(Locale.ROOT);
    check(JCudaDriver.cuModuleGetFunction(function, module, name), "cuModuleGetFunction");
    check(
        JCudaDriver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, null, null, null),
        "cuLaunchKernel");
  }

  private static void check(int result, String call) {
    if (result != 0) {
      throw new IllegalStateException(call + " answered " + result);
    }
  }
}
