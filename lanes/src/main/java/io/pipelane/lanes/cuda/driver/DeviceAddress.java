package io.pipelane.lanes.cuda.driver;

import jcuda.driver.CUdeviceptr;

/** An address in device memory as JCuda takes it. */
final class DeviceAddress extends CUdeviceptr {
  private static final CUdeviceptr ZERO = new CUdeviceptr();

  DeviceAddress(long address) {
    super(ZERO, address);
  }
}
