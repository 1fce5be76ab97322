package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WatchedAddressTest {
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final Logger logger = Logger.getLogger(WatchedAddress.class.getName());
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicInteger asked = new AtomicInteger();
  private final HttpServer publisher;
  private final Handler log =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          lines.add(record.getLevel() + " " + new SimpleFormatter().formatMessage(record));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };
  private volatile int status = 200;

  WatchedAddressTest() throws IOException {
    publisher = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
  }

  @BeforeEach
  void publish() {
    publisher.createContext(
        "/words",
        exchange -> {
          asked.incrementAndGet();
          exchange.sendResponseHeaders(status, -1);
          exchange.close();
        });
    publisher.start();
    logger.addHandler(log);
  }

  @AfterEach
  void stop() {
    logger.removeHandler(log);
    publisher.stop(0);
  }

  private void until(WatchedAddress<String> watched, BooleanSupplier end) {
    while (!end.getAsBoolean()) {
      nanos.addAndGet(WatchedAddress.REFRESH.toNanos());
      watched.lookAgain();
      Thread.onSpinWait();
    }
  }

  @Test
  void addressThatLacksSomething_isAskedSooner_butNotOverAndOver() {
    URI address = URI.create("http://127.0.0.1:" + publisher.getAddress().getPort() + "/words");
    try (WatchedAddress<String> watched =
        new WatchedAddress<>("words", address, text -> text, nanos::get)) {
      watched.look();
      untilAskedSooner(watched, 2);
      nanos.addAndGet(WatchedAddress.RETRY.toNanos() - 1);
      for (int i = 0; i < 1000; i++) {
        watched.lookSooner();
      }
      watched.look();
      assertEquals(3, asked.get());
      nanos.addAndGet(1);
      untilAskedSooner(watched, 4);
    }
  }

  /** An answer may have come that is still being read, so that it is not asked anew. */
  private void untilAskedSooner(WatchedAddress<String> watched, int times) {
    while (asked.get() < times) {
      watched.lookSooner();
      Thread.onSpinWait();
    }
  }

  @Test
  void addressThatStaysWrong_isWarnedOfOnce_andThatItIsRightAgainIsTold() {
    URI address = URI.create("http://127.0.0.1:" + publisher.getAddress().getPort() + "/words");
    try (WatchedAddress<String> watched =
        new WatchedAddress<>("words", address, text -> text, nanos::get)) {
      watched.look();
      status = 503;
      until(watched, () -> asked.get() > 4);
      status = 200;
      until(watched, () -> lines.size() > 2);
      assertEquals(
          List.of(
              "INFO words are in force as %s has them".formatted(address),
              "WARNING words stay as they were: %s answers with status 503".formatted(address),
              "INFO words can be read at %s again".formatted(address)),
          List.copyOf(lines));
    }
  }
}
