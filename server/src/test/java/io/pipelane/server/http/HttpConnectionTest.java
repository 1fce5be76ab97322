package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.timeout.IdleStateEvent;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceService;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class HttpConnectionTest {
  private static final String ECHO =
      "{\"id\":\"%s\",\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\","
          + "\"data\":[1,2,3,4]}]}";

  private static byte[] echo(String id) {
    return Requests.infer("echo", ECHO.formatted(id));
  }

  @Test
  void infer_splitAtEveryByte_givesTheSameAnswer() {
    byte[] request = Requests.mixed();
    byte[] whole;
    try (Conversation conversation = Conversation.usual()) {
      whole = conversation.send(request).received();
      assertEquals(200, conversation.onlyReply().status(), conversation.onlyReply().text());
      assertArrayEquals(Requests.longs(9007199254740993L, -1), conversation.onlyReply().binary());
      assertTrue(conversation.onlyReply().json().contains("\"data\":[\"a\",\"b\u00e9x\"]"));
    }
    for (int cut = 1; cut < request.length; cut++) {
      try (Conversation conversation = Conversation.usual()) {
        conversation.send(request, 0, cut).send(request, cut, request.length - cut);
        assertArrayEquals(whole, conversation.received(), "cut at " + cut);
      }
    }
    try (Conversation conversation = Conversation.usual()) {
      for (int i = 0; i < request.length; i++) {
        conversation.send(request, i, 1);
      }
      assertArrayEquals(whole, conversation.received(), "byte by byte");
    }
  }

  @Test
  void pipelinedRequests_completedOutOfOrder_areAnsweredInOrder() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(Requests.concatenate(echo("0"), echo("1"), echo("2")));
      conversation.send(Requests.get("/v2/health/live"));
      assertEquals(3, service.pending.size());
      service.pending.get(2).complete();
      service.pending.get(1).complete();
      assertEquals(0, conversation.received().length);
      service.pending.get(0).complete();
      List<Reply> replies = conversation.replies();
      assertEquals(4, replies.size());
      for (int i = 0; i < 3; i++) {
        assertTrue(replies.get(i).text().contains("\"id\":\"" + i + "\""), replies.get(i).text());
      }
      assertEquals("{\"live\":true}", replies.get(3).text());
    }
  }

  @Test
  void requestsReadTogether_beginBehindThat() {
    EchoService service = EchoService.inline();
    List<Integer> underWay = new ArrayList<>();
    AtomicReference<Conversation> asked = new AtomicReference<>();
    InferenceService watched =
        (request, handler) -> {
          underWay.add(asked.get().activity.running());
          return service.submit(request, handler);
        };
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), watched)) {
      asked.set(conversation);
      conversation.send(Requests.concatenate(echo("0"), echo("1")));
      assertEquals(List.of(2, 1), underWay);
      assertEquals(2, conversation.replies().size());
    }
  }

  @Test
  void clientGoesAwayRightBehindItsRequest_nothingIsRun() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation
          .channel
          .pipeline()
          .addFirst(
              new ChannelInboundHandlerAdapter() {
                @Override
                public void channelReadComplete(ChannelHandlerContext context) {
                  ChannelFuture _ = context.close();
                }
              });
      conversation.send(echo("0"));
      assertEquals(List.of(), service.pending);
      assertEquals(0, conversation.bytesHeld());
      assertEquals(0, conversation.activity.running());
    }
  }

  @Test
  void manyPipelinedRequests_unanswered_stopTheReading() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      for (int i = 0; i < HttpConnection.MAXIMUM_PIPELINED; i++) {
        assertTrue(conversation.channel.config().isAutoRead());
        conversation.send(echo("i"));
      }
      assertFalse(conversation.channel.config().isAutoRead());
      service.pending.getFirst().complete();
      assertTrue(conversation.channel.config().isAutoRead());
      service.pending.subList(1, service.pending.size()).forEach(EchoService.Pending::complete);
    }
  }

  @Test
  void clientGoesAway_cancelsItsRequestAndKeepsInputsUntilItEnds() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(echo("1")).disconnect();
      EchoService.Pending pending = service.pending.getFirst();
      assertTrue(pending.isCancelled());
      assertTrue(conversation.bytesHeld() > 0, "the service may still read the inputs");
      pending.complete();
      assertEquals(0, conversation.bytesHeld());
    }
  }

  @Test
  void clientGoesAway_withAnswersInWaiting_releasesThem() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(Requests.concatenate(echo("0"), echo("1"))).send("POST /v2/models/e");
      service.pending.get(1).complete();
      conversation.disconnect();
      service.pending.get(0).fail();
    }
  }

  @Test
  void expectContinue_isGrantedOnceAndOnlyForAcceptableRequests() {
    String json = ECHO.formatted("c");
    byte[] request = Requests.infer("echo", json, new byte[0], "Expect: 100-continue\r\n");
    int head = request.length - json.length();
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(request, 0, head);
      assertEquals(100, conversation.onlyReply().status());
      conversation.send(request, head, json.length());
      assertEquals(200, conversation.replies().get(1).status());
      assertEquals(2, conversation.replies().size());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(
          Requests.head("POST /v2/nothing", "Expect: 100-continue\r\nContent-Length: 9\r\n"));
      assertEquals(404, conversation.onlyReply().status());
      assertFalse(conversation.channel.isOpen());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(
          Requests.head("POST /v2/repository/index", "Expect: tea\r\nContent-Length: 9\r\n"));
      assertEquals(417, conversation.onlyReply().status());
    }
  }

  @Test
  void expectContinue_behindAnUnansweredRequest_waitsForItsAnswer() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(echo("0"));
      conversation.send(
          Requests.head(
              "POST /v2/repository/index", "Expect: 100-continue\r\nContent-Length: 2\r\n"));
      assertEquals(0, conversation.received().length);
      service.pending.getFirst().complete();
      assertEquals(List.of(200, 100), conversation.replies().stream().map(Reply::status).toList());
      conversation.send("{}");
      assertEquals(3, conversation.replies().size());
    }
  }

  @Test
  void announcedBodyBeyondLimit_isRefusedBeforeItComes() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("POST /v2/models/echo/infer", "Content-Length: 1048577\r\n"));
      Reply reply = conversation.onlyReply();
      assertEquals(413, reply.status());
      assertEquals("close", reply.header("connection"));
      assertEquals(
          "{\"error\":\"the body of 1048577 bytes is larger than server.max-request-size, 1048576"
              + " bytes\"}",
          reply.text());
      conversation.send("more").send(echo("ignored"));
      assertEquals(1, conversation.replies().size());
    }
  }

  @Test
  void chunkedBody_beyondLimit_isRefused() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(
          Requests.head("POST /v2/models/echo/infer", "Transfer-Encoding: chunked\r\n"));
      byte[] chunk = Requests.bytes("10000\r\n" + "x".repeat(0x10000) + "\r\n", new byte[0]);
      for (int i = 0; i < 16; i++) {
        conversation.send(chunk);
      }
      assertEquals(0, conversation.received().length);
      conversation.send(chunk);
      assertEquals(413, conversation.onlyReply().status());
      assertFalse(conversation.channel.isOpen());
    }
  }

  @Test
  void chunkedBody_withinLimit_isPutTogether() {
    String json = ECHO.formatted("chunks");
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(
          Requests.head("POST /v2/models/echo/infer", "Transfer-Encoding: chunked\r\n"));
      for (int i = 0; i < json.length(); i += 7) {
        String piece = json.substring(i, Math.min(json.length(), i + 7));
        conversation.send(Integer.toHexString(piece.length()) + "\r\n" + piece + "\r\n");
      }
      conversation.send("0\r\n\r\n");
      assertEquals(200, conversation.onlyReply().status());
      conversation.send(echo("next"));
      assertEquals(2, conversation.replies().size());
    }
  }

  @Test
  void refusedRequest_withShortBody_keepsTheConnection() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.post("/v2/nowhere", new byte[100], "")).send(echo("next"));
      assertEquals(List.of(404, 200), conversation.replies().stream().map(Reply::status).toList());
    }
  }

  @Test
  void malformedHttp_isAnsweredAndClosed() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send("nonsense\r\n\r\n");
      assertEquals(400, conversation.onlyReply().status());
      assertFalse(conversation.channel.isOpen());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("GET /" + "x".repeat(9000), ""));
      assertEquals(414, conversation.onlyReply().status());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("GET /v2", "A: " + "x".repeat(40_000) + "\r\n"));
      assertEquals(431, conversation.onlyReply().status());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(
          Requests.head("POST /v2/models/echo/infer", "Transfer-Encoding: chunked\r\n") + "zz\r\n");
      assertEquals(400, conversation.onlyReply().status());
    }
  }

  @Test
  void connectionHeader_decidesWhetherItStaysOpen() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("GET /v2", "Connection: close\r\n"));
      assertEquals("close", conversation.onlyReply().header("connection"));
      assertFalse(conversation.channel.isOpen());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send("GET /v2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
      assertEquals("keep-alive", conversation.onlyReply().header("connection"));
      assertTrue(conversation.channel.isOpen());
    }
    try (Conversation conversation = Conversation.usual()) {
      conversation.send("GET /v2 HTTP/1.0\r\n\r\n");
      assertEquals("close", conversation.onlyReply().header("connection"));
    }
  }

  @Test
  void head_isAnsweredWithoutBody() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("HEAD /v2/health/live", ""));
      String text = new String(conversation.received(), StandardCharsets.US_ASCII);
      assertTrue(text.startsWith("HTTP/1.1 200 OK\r\n"), text);
      assertTrue(text.endsWith("Content-Length: 13\r\n\r\n"), text);
    }
  }

  @Test
  void idleConnection_isClosedAndSlowBodyAnswered() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.channel.pipeline().fireUserEventTriggered(IdleStateEvent.ALL_IDLE_STATE_EVENT);
      assertFalse(conversation.channel.isOpen());
    }
    byte[] request = echo("slow");
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(request, 0, request.length - 1);
      conversation.channel.pipeline().fireUserEventTriggered(IdleStateEvent.ALL_IDLE_STATE_EVENT);
      assertEquals(408, conversation.onlyReply().status());
      assertFalse(conversation.channel.isOpen());
    }
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(request);
      conversation.channel.pipeline().fireUserEventTriggered(IdleStateEvent.ALL_IDLE_STATE_EVENT);
      service.pending.getFirst().complete();
      assertEquals(200, conversation.onlyReply().status());
    }
  }

  @Test
  void unservedHttp_isRefusedWithItsCode() {
    String post = "POST /v2/models/echo/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: ";
    assertEquals(505, status("GET /v2 HTTP/3.0\r\n\r\n"));
    assertEquals(501, status(post + "gzip, chunked\r\n\r\n"));
    assertEquals(400, status(post + "chunked\r\n\r\n1;" + "x".repeat(9000) + "\r\n"));
  }

  private static int status(String request) {
    try (Conversation conversation = Conversation.usual()) {
      return conversation.send(request).onlyReply().status();
    }
  }

  @Test
  void draining_refusesNewRequestsAndAnswersRunningOnes() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(Requests.concatenate(echo("0"), echo("1")));
      var idle = conversation.activity.drain();
      assertFalse(idle.isDone());
      service.pending.get(0).complete();
      service.pending.get(1).complete();
      assertTrue(idle.isDone());
      List<Reply> replies = conversation.replies();
      assertEquals(List.of(200, 200), replies.stream().map(Reply::status).toList());
      assertEquals("", replies.get(0).header("connection"));
      assertEquals("close", replies.get(1).header("connection"));
    }
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      assertTrue(conversation.activity.drain().isDone());
      conversation.send(echo("late"));
      Reply reply = conversation.onlyReply();
      assertEquals(503, reply.status());
      assertEquals("close", reply.header("connection"));
      assertEquals("1", reply.header("retry-after"));
    }
  }

  @Test
  void service_thatRefuses_isHeard() {
    EchoService service = EchoService.inline();
    service.refusal = StatusException.unavailable("the queue of 8 is full", Duration.ofMillis(10));
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      Reply reply = conversation.send(echo("1")).onlyReply();
      assertEquals(503, reply.status());
      assertEquals("1", reply.header("retry-after"));
      service.refusal = new IllegalStateException("a bug");
      assertEquals(500, conversation.send(echo("2")).replies().get(1).status());
    }
  }

  @Test
  void service_thatFailsOrForgetsAnOutput_isHeard() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(Requests.concatenate(echo("1"), echo("2")));
      service.pending.get(0).fail();
      service.pending.get(1).finishWithoutSomeOutput();
      List<Reply> replies = conversation.replies();
      assertEquals(507, replies.get(0).status());
      assertEquals("{\"error\":\"needs 9MiB, has 8MiB\"}", replies.get(0).text());
      assertEquals(500, replies.get(1).status());
    }
  }
}
