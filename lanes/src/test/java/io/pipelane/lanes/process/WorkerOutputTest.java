package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class WorkerOutputTest {
  private static String lastOf(String text) {
    WorkerOutput output = new WorkerOutput("a worker");
    output.readAll(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    return output.lastLine();
  }

  @Test
  void lastLine_isNoneOfAStack() {
    assertEquals(
        "java.lang.Error: why",
        lastOf("begins\njava.lang.Error: why\n\tat a.B.c(B.java:1)\n\t... 3 more\n\n"));
  }

  @Test
  void lastLine_ofACrash_isItsReason() {
    assertEquals(
        "SIGFPE (0x8) at pc=0x00007f, pid=7, tid=8",
        lastOf(
            """
            #
            # A fatal error has been detected by the Java Runtime Environment:
            #
            #  SIGFPE (0x8) at pc=0x00007f, pid=7, tid=8
            #
            # JRE version: OpenJDK Runtime Environment
            # Problematic frame:
            # C  [libonnxruntime.so+0x1]
            #
            # The crash happened outside the Java Virtual Machine in native code.
            #
            """));
  }
}
