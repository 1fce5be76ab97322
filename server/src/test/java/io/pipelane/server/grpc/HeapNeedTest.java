package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceStub;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HeapNeedTest {
  private static final int MANY = HeapNeed.MOST_DESCRIBING_BYTES / 2 + 1;

  private static void check(ModelInferRequest message) throws IOException {
    long _ = heapBytes(message);
  }

  private static ModelInferRequest changed(UnaryOperator<ModelInferRequest.Builder> change) {
    return change.apply(ModelInferRequest.newBuilder().setModelName("echo")).build();
  }

  @Test
  void data_mayBeOfAnySize() throws IOException {
    ByteString bytes = ByteString.copyFrom(new byte[2 * HeapNeed.MOST_DESCRIBING_BYTES]);
    check(changed(request -> request.addRawInputContents(bytes).addRawInputContents(bytes)));
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    check(with(contents.addBytesContents(bytes).build()));
    ByteString letter = ByteString.copyFromUtf8("a");
    check(with(contents.addAllBytesContents(Collections.nCopies(MANY, letter)).build()));
  }

  /** A byte of a message may become twenty of the heap, an array's growth included. */
  @Test
  void elements_takeOfTheHeapWhatTheyBecome() throws IOException {
    ModelInferRequest none = with(InferTensorContents.getDefaultInstance());
    List<Integer> ones = Collections.nCopies(MANY, 1);
    List<Long> longOnes = Collections.nCopies(MANY, 1L);
    ByteString letter = ByteString.copyFromUtf8("a");
    InferTensorContents.Builder ints = InferTensorContents.newBuilder().addAllIntContents(ones);
    InferTensorContents.Builder longs =
        InferTensorContents.newBuilder().addAllUint64Contents(longOnes);
    InferTensorContents.Builder strings =
        InferTensorContents.newBuilder().addAllBytesContents(Collections.nCopies(MANY, letter));
    assertBetween(10L * MANY, 11L * MANY, heapBytes(with(ints.build())) - heapBytes(none));
    assertBetween(20L * MANY, 21L * MANY, heapBytes(with(longs.build())) - heapBytes(none));
    assertBetween(58L * MANY, 70L * MANY, heapBytes(with(strings.build())) - heapBytes(none));
    ModelInferRequest raw =
        changed(request -> request.addRawInputContents(ByteString.copyFrom(new byte[MANY])));
    assertBetween(2L * MANY, 3L * MANY, heapBytes(raw));
  }

  /** Numbers of one byte to ten become as large. */
  @Test
  void packedNumbers_areCounted_notTheirBytes() throws IOException {
    List<Long> large = Collections.nCopies(MANY, -1L);
    InferTensorContents contents =
        InferTensorContents.newBuilder().addAllUint64Contents(large).build();
    assertBetween(20L * MANY, 21L * MANY, heapBytes(with(contents)));
  }

  private static long heapBytes(ModelInferRequest message) throws IOException {
    return HeapNeed.of(CodedInputStream.newInstance(message.toByteArray()));
  }

  private static void assertBetween(long least, long most, long value) {
    assertTrue(value >= least && value <= most, value + " within " + least + " to " + most);
  }

  private static ModelInferRequest with(InferTensorContents contents) {
    return changed(
        request -> request.addInputs(InferInputTensor.newBuilder().setContents(contents)));
  }

  /** What no element of a tensor is becomes objects, wherever it stands. */
  @Test
  void unknownFields_areNoData() {
    UnknownFieldSet one =
        UnknownFieldSet.newBuilder().addField(1, Field.newBuilder().addVarint(1).build()).build();
    for (int number : List.of(InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER, 9)) {
      Field.Builder groups = Field.newBuilder();
      for (int i = 0; i < MANY; i++) {
        groups.addGroup(one);
      }
      UnknownFieldSet fields = field(number, groups);
      InferTensorContents contents =
          InferTensorContents.newBuilder().setUnknownFields(fields).build();
      StatusException refused = assertThrows(StatusException.class, () -> check(with(contents)));
      assertEquals(Status.TOO_LARGE, refused.status());
    }
  }

  /** What is written otherwise than an element becomes an object of an unknown field. */
  @Test
  void contentsOfAnotherTypeThanTheirOwn_areNoData() {
    Field.Builder numbers = manyNumbers();
    Field.Builder words = manyWords();
    List<UnknownFieldSet> wrong =
        List.of(
            field(InferTensorContents.BYTES_CONTENTS_FIELD_NUMBER, numbers),
            field(InferTensorContents.FP64_CONTENTS_FIELD_NUMBER, numbers),
            field(InferTensorContents.FP64_CONTENTS_FIELD_NUMBER, words),
            field(InferTensorContents.BOOL_CONTENTS_FIELD_NUMBER, words));
    for (UnknownFieldSet fields : wrong) {
      InferTensorContents contents =
          InferTensorContents.newBuilder().setUnknownFields(fields).build();
      StatusException refused = assertThrows(StatusException.class, () -> check(with(contents)));
      assertEquals(Status.TOO_LARGE, refused.status());
    }
  }

  private static Field.Builder manyNumbers() {
    Field.Builder numbers = Field.newBuilder();
    for (int i = 0; i < MANY; i++) {
      numbers.addVarint(1);
    }
    return numbers;
  }

  private static Field.Builder manyWords() {
    Field.Builder words = Field.newBuilder();
    for (int i = 0; i < MANY; i++) {
      words.addFixed32(1);
    }
    return words;
  }

  private static UnknownFieldSet field(int number, Field.Builder field) {
    return UnknownFieldSet.newBuilder().addField(number, field.build()).build();
  }

  @Test
  void elementsThatAreNotPacked_areData() throws IOException {
    Field.Builder numbers = manyNumbers();
    Field.Builder words = manyWords();
    for (UnknownFieldSet fields :
        List.of(
            field(InferTensorContents.UINT_CONTENTS_FIELD_NUMBER, numbers),
            field(InferTensorContents.FP32_CONTENTS_FIELD_NUMBER, words))) {
      InferTensorContents contents =
          InferTensorContents.newBuilder().setUnknownFields(fields).build();
      assertBetween(10L * MANY, 11L * MANY, heapBytes(with(contents)));
    }
  }

  @Test
  void description_isBounded_whateverItIsOf() {
    InferInputTensor none = InferInputTensor.getDefaultInstance();
    InferInputTensor shape =
        InferInputTensor.newBuilder().addAllShape(Collections.nCopies(2 * MANY, 1L)).build();
    List<ModelInferRequest> requests =
        List.of(
            changed(request -> request.addAllInputs(Collections.nCopies(MANY, none))),
            changed(request -> request.addInputs(shape)),
            changed(
                request ->
                    request.addAllRawInputContents(Collections.nCopies(MANY, ByteString.EMPTY))));
    for (ModelInferRequest request : requests) {
      StatusException refused = assertThrows(StatusException.class, () -> check(request));
      assertEquals(Status.TOO_LARGE, refused.status());
    }
  }

  /** Some kilobytes may be unpacked to what fills Java's heap. */
  @Test
  void messageOfManyInputs_isRefused_packedOrNot() throws Exception {
    ModelInferRequest many =
        changed(
            request ->
                request.addAllInputs(
                    Collections.nCopies(MANY, InferInputTensor.getDefaultInstance())));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (var client :
          List.of(conversation.client(), conversation.client().withCompression("gzip"))) {
        StatusRuntimeException refused =
            assertThrows(StatusRuntimeException.class, () -> client.modelInfer(many));
        String reason = String.valueOf(refused.getStatus().getDescription());
        assertEquals(
            "the message says more than 1048576 bytes beside its tensors' data;"
                + " ask for less at a time",
            reason);
      }
    }
  }

  @Test
  void streamsMessageThatSaysTooMuch_isAnsweredByItsId_packedOrNot() throws Exception {
    ModelInferRequest many =
        changed(
            request ->
                request
                    .setId("much")
                    .addAllInputs(
                        Collections.nCopies(MANY, InferInputTensor.getDefaultInstance())));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      GRPCInferenceServiceStub plain = GRPCInferenceServiceGrpc.newStub(conversation.channel);
      for (var client : List.of(plain, plain.withCompression("gzip"))) {
        BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
        StreamObserver<ModelInferRequest> requests =
            client
                .withDeadlineAfter(30, TimeUnit.SECONDS)
                .modelStreamInfer(LargeMessagesTest.into(answers));
        requests.onNext(many);
        ModelStreamInferResponse refused = answers.take();
        assertTrue(refused.getErrorMessage().contains("beside its tensors' data"));
        assertEquals("much", refused.getInferResponse().getId());
        requests.onCompleted();
      }
    }
  }
}
