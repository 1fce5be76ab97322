package io.pipelane.lanes.descriptors;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.cpu.SharedMemory;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnixSocketTest {
  private final String name = "pipelane-test-" + UUID.randomUUID();

  @Test
  void send_manyDescriptors_areTheSameFilesAtTheOtherEnd() {
    try (UnixSocket socket = UnixSocket.listen(name);
        SharedMemory memory = SharedMemory.allocate("test", 4096)) {
      CompletableFuture<UnixSocket> connecting =
          CompletableFuture.supplyAsync(() -> UnixSocket.connect(name));
      try (UnixSocket server = socket.accept();
          UnixSocket client = connecting.join()) {
        assertTrue(server.isOfSameUser());
        int most = UnixSocket.MOST_DESCRIPTORS;
        server.send(IntStream.range(0, most).map(i -> memory.descriptor()).toArray());
        server.send(memory.descriptor());
        int[] many = client.receive();
        int[] one = client.receive();
        assertNotNull(many);
        assertNotNull(one);
        assertEquals(most, many.length);
        assertEquals(1, one.length);
        memory.segment().set(JAVA_LONG, 0, 42);
        long self = ProcessHandle.current().pid();
        try (SharedMemory received = SharedMemory.open(self, many[most - 1], 4096)) {
          assertEquals(42, received.segment().get(JAVA_LONG, 0));
        }
        IntStream.of(many).forEach(UnixSocket::close);
        UnixSocket.close(one[0]);
      }
    }
  }

  @Test
  void sendNumbers_areTheSameAtTheOtherEnd() {
    try (UnixSocket socket = UnixSocket.listen(name)) {
      UnixSocket client = UnixSocket.connect(name);
      try (UnixSocket server = socket.accept()) {
        client.sendNumbers(1, -2, Integer.MAX_VALUE);
        client.sendNumbers(4);
        assertArrayEquals(new int[] {1, -2, Integer.MAX_VALUE}, server.receiveNumbers());
        assertArrayEquals(new int[] {4}, server.receiveNumbers());
        client.close();
        assertArrayEquals(new int[0], server.receiveNumbers());
      }
    }
  }

  @Test
  void receive_otherSideHasClosed_isNull() {
    try (UnixSocket socket = UnixSocket.listen(name);
        UnixSocket client = UnixSocket.connect(name)) {
      socket.accept().close();
      assertNull(client.receive());
    }
  }

  @Test
  void limitWaits_otherSideSaysNothing_receivingFails() {
    try (UnixSocket socket = UnixSocket.listen(name);
        UnixSocket client = UnixSocket.connect(name);
        UnixSocket server = socket.accept()) {
      server.limitWaits(Duration.ofMillis(10));
      assertThrows(StatusException.class, server::receiveNumbers);
      client.sendNumbers(4);
      assertArrayEquals(new int[] {4}, server.receiveNumbers());
    }
  }

  @Test
  void accept_socketIsShutDown_fails() {
    try (UnixSocket socket = UnixSocket.listen(name)) {
      CompletableFuture<UnixSocket> accepting = CompletableFuture.supplyAsync(socket::accept);
      socket.shutDown();
      assertThrows(RuntimeException.class, accepting::join);
    }
  }

  @Test
  void connect_nobodyListens_saysSo() {
    StatusException error =
        assertThrows(StatusException.class, () -> UnixSocket.connect(name).close());
    assertTrue(error.toString().contains("connect failed"), error.toString());
  }
}
