package io.pipelane.lanes.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeviceErrorTest {
  @ParameterizedTest
  @CsvSource({"13, true", "31, true", "43, true", "79, true", "45, false", "63, false", "7, true"})
  void endsWork_allButTracesOfProcessesThatEnded(long xid, boolean expected) {
    assertEquals(expected, new DeviceError(xid).endsWork());
  }

  @Test
  void toString_namesTheError() {
    assertTrue(new DeviceError(31).toString().contains("XID 31"));
    assertTrue(new DeviceError(999).toString().contains("XID 999"));
  }
}
