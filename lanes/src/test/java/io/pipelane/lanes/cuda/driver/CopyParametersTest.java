package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.CopyNode.MemoryType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jcuda.driver.CUmemorytype;
import org.junit.jupiter.api.Test;

class CopyParametersTest {
  private static final long HOST_ADDRESS = 0x1000;
  private static final long DEVICE_ADDRESS = 0x2000;

  private final MemorySegment parameters = CopyParameters.allocate(Arena.ofAuto());

  @Test
  void read_ofACopyFromTheHost_findsBothEnds() {
    parameters.set(JAVA_INT, 32, CUmemorytype.CU_MEMORYTYPE_HOST);
    parameters.set(JAVA_LONG, 40, HOST_ADDRESS);
    parameters.set(JAVA_INT, 120, CUmemorytype.CU_MEMORYTYPE_DEVICE);
    parameters.set(JAVA_LONG, 136, DEVICE_ADDRESS);
    parameters.set(JAVA_LONG, 88, 16);
    parameters.set(JAVA_LONG, 176, 640);
    parameters.set(JAVA_LONG, 184, 1);
    parameters.set(JAVA_LONG, 192, 1);
    CopyNode copy = read();
    assertEquals(
        new CopyNode(
            7, MemoryType.HOST, HOST_ADDRESS, MemoryType.DEVICE, DEVICE_ADDRESS + 16, 640, 1),
        copy);
    assertTrue(copy.isHostToDevice());
    assertTrue(copy.isContiguous());
    parameters.set(JAVA_LONG, 184, 3);
    assertEquals(3, read().rows());
    assertFalse(read().isContiguous());
  }

  @Test
  void read_ofUnifiedAddresses_asksWhatTheyAre() {
    parameters.set(JAVA_INT, 32, CUmemorytype.CU_MEMORYTYPE_UNIFIED);
    parameters.set(JAVA_LONG, 48, HOST_ADDRESS);
    parameters.set(JAVA_INT, 120, CUmemorytype.CU_MEMORYTYPE_UNIFIED);
    parameters.set(JAVA_LONG, 136, DEVICE_ADDRESS);
    parameters.set(JAVA_LONG, 176, 64);
    assertEquals(
        new CopyNode(7, MemoryType.HOST, HOST_ADDRESS, MemoryType.DEVICE, DEVICE_ADDRESS, 64, 1),
        read());
    CopyParameters.readFromDevice(parameters, 0x3000);
    assertEquals(
        new CopyNode(7, MemoryType.DEVICE, 0x3000, MemoryType.DEVICE, DEVICE_ADDRESS, 64, 1),
        read());
    assertEquals(CUmemorytype.CU_MEMORYTYPE_DEVICE, parameters.get(JAVA_INT, 120));
  }

  private CopyNode read() {
    return CopyParameters.read(
        7,
        parameters,
        address ->
            address == DEVICE_ADDRESS
                ? CUmemorytype.CU_MEMORYTYPE_DEVICE
                : CUmemorytype.CU_MEMORYTYPE_HOST);
  }
}
