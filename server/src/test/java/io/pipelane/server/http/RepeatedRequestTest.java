package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What a client has sent before has no effect on what it sends now. */
class RepeatedRequestTest {
  private static byte[] request(String model, String id, String binaryOutput, byte[] data) {
    String json =
        ("{\"id\":\"%s\",\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"INT64\","
                + "\"parameters\":{\"binary_data_size\":16}}],"
                + "\"parameters\":{\"binary_data_output\":%s}}")
            .formatted(id, binaryOutput);
    return Requests.inferBinary(model, json, data);
  }

  @Test
  void infer_theSameTextAgain_answersItsOwnData() {
    try (Conversation conversation = Conversation.usual()) {
      for (int i = 0; i < 5; i++) {
        conversation.send(request("echo_INT64", "a", "true", Requests.longs(i, -i)));
      }
      conversation.send(request("echo_INT64", "b", "true", Requests.longs(7, 8)));
      conversation.send(request("echo_INT64", "b", "false", Requests.longs(9, 10)));
      conversation.send(request("echo_INT64", "b", "true", Requests.longs(11, 12)));
      List<Reply> replies = conversation.replies();
      for (int i = 0; i < 5; i++) {
        assertArrayEquals(Requests.longs(i, -i), replies.get(i).binary());
        assertTrue(replies.get(i).json().contains("\"id\":\"a\""));
      }
      assertArrayEquals(Requests.longs(7, 8), replies.get(5).binary());
      assertTrue(replies.get(5).json().contains("\"id\":\"b\""));
      assertTrue(replies.get(6).text().contains("\"data\":[9,10]"), replies.get(6).text());
      assertArrayEquals(Requests.longs(11, 12), replies.get(7).binary());
    }
  }

  @Test
  void infer_theSameTextWithOutputsOfOtherSizes_saysTheirSizes() {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"BYTES\",\"parameters\":"
            + "{\"binary_data_size\":12}}],\"parameters\":{\"binary_data_output\":true}}";
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      byte[] request = Requests.inferBinary("echo_BYTES", json, Requests.strings("ab", "cd"));
      conversation.send(request).send(request).send(request);
      service.pending.get(0).complete();
      service.pending.get(1).completeWith(Requests.strings("a", "longer"));
      service.pending.get(2).complete();
      List<Reply> replies = conversation.replies();
      assertTrue(replies.get(0).json().contains("\"binary_data_size\":12}"));
      assertTrue(replies.get(1).json().contains("\"binary_data_size\":15}"));
      assertArrayEquals(Requests.strings("a", "longer"), replies.get(1).binary());
      assertEquals(replies.get(0).json(), replies.get(2).json());
    }
  }

  @Test
  void infer_theSameTextForAnotherModel_isCheckedAgainstItsDeclaration() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(request("echo_INT64", "a", "true", Requests.longs(1, 2)));
      conversation.send(request("echo_FP64", "a", "true", Requests.longs(1, 2)));
      conversation.send(request("echo_INT64", "a", "true", Requests.longs(3, 4)));
      List<Reply> replies = conversation.replies();
      assertEquals(List.of(200, 400, 200), replies.stream().map(Reply::status).toList());
      assertArrayEquals(Requests.longs(3, 4), replies.get(2).binary());
    }
  }

  @Test
  void infer_theSameTextWithTooFewBytes_isRefused() {
    byte[] data = Requests.longs(1, 2);
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(request("echo_INT64", "a", "true", data));
      conversation.send(request("echo_INT64", "a", "true", Requests.longs(1)));
      conversation.send(request("echo_INT64", "a", "true", data));
      List<Reply> replies = conversation.replies();
      assertEquals(List.of(200, 400, 200), replies.stream().map(Reply::status).toList());
    }
  }

  @Test
  void infer_tensorsInTheText_areReadEveryTime() {
    try (Conversation conversation = Conversation.usual()) {
      for (int i : new int[] {1, 1, 2, 1}) {
        String json =
            "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT64\",\"data\":[%d]}]}"
                .formatted(i);
        conversation.send(Requests.infer("echo_INT64", json));
        assertTrue(conversation.replies().getLast().text().contains("\"data\":[" + i + "]"));
      }
    }
  }

  @Test
  void infer_requestsWaitTogether_answerEachItsOwn() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      for (int i = 0; i < 4; i++) {
        conversation.send(request("echo_INT64", "a", "true", Requests.longs(i, i)));
      }
      service.pending.reversed().forEach(EchoService.Pending::complete);
      List<Reply> replies = conversation.replies();
      for (int i = 0; i < 4; i++) {
        assertArrayEquals(Requests.longs(i, i), replies.get(i).binary());
      }
    }
  }
}
