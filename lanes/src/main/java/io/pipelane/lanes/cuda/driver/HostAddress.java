package io.pipelane.lanes.cuda.driver;

import jcuda.Pointer;

/** An address in host memory as JCuda takes it. */
final class HostAddress extends Pointer {
  HostAddress(long address) {
    super(address);
  }
}
