package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.net.LeastPace;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients that send a byte now and then to keep their connection. */
class RequestPaceTest {
  private static final byte[] REQUEST =
      Requests.inferBinary(
          "echo_INT8",
          "{\"inputs\":[{\"name\":\"x\",\"shape\":[200000],\"datatype\":\"INT8\",\"parameters\":"
              + "{\"binary_data_size\":200000}}],\"parameters\":{\"binary_data_output\":true}}",
          new byte[200_000]);

  private final Conversation conversation = Conversation.usual();

  @BeforeEach
  void holdTheClock() {
    conversation.channel.freezeTime();
  }

  /** Sends pieces of a request, one a second, until the connection is closed or the end. */
  private int drip(int begin, int end, int bytesASecond) {
    int at = begin;
    while (at < end && conversation.channel.isOpen()) {
      int bytes = Math.min(bytesASecond, end - at);
      conversation.send(REQUEST, at, bytes);
      at += bytes;
      conversation.channel.advanceTimeBy(1, TimeUnit.SECONDS);
      conversation.channel.runScheduledPendingTasks();
    }
    return at;
  }

  @Test
  void headThatComesByteByByte_isCutOff() {
    try (conversation) {
      int sent = drip(0, REQUEST.length, 1);
      assertFalse(conversation.channel.isOpen());
      assertTrue(sent <= 2 * Conversation.SLOWEST.toSeconds(), "after " + sent + " s");
      assertEquals(0, conversation.received().length);
    }
  }

  @Test
  void bodyThatComesByteByByte_isAnswered() {
    try (conversation) {
      conversation.send(REQUEST, 0, 300);
      drip(300, REQUEST.length, 100);
      assertEquals(408, conversation.onlyReply().status());
      assertFalse(conversation.channel.isOpen());
    }
  }

  @Test
  void bodyThatComesOverASlowLink_isTaken() {
    try (conversation) {
      drip(0, REQUEST.length, 2 * LeastPace.BYTES_PER_SECOND);
      assertEquals(200, conversation.onlyReply().status());
    }
  }

  @Test
  void requestsThatCome_areNotAddedUp() {
    try (conversation) {
      byte[] small = Requests.bytes(Requests.head("GET /v2/health/live", ""), new byte[0]);
      for (int i = 0; i < 100; i++) {
        conversation.send(small, 0, 9);
        conversation.channel.advanceTimeBy(5, TimeUnit.SECONDS);
        conversation.channel.runScheduledPendingTasks();
        conversation.send(small, 9, small.length - 9);
      }
      assertEquals(100, conversation.replies().size());
      assertTrue(conversation.channel.isOpen());
    }
  }
}
