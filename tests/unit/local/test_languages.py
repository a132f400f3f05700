from local.languages import CHINESE, ENGLISH, choose_model


def test_the_model_follows_most_of_the_letters() -> None:
    assert choose_model(["The refund policy", "covers 年付套餐 and more of the plans"]) == ENGLISH
    assert (
        choose_model(["设置 `sync.batch_size` 默认从 200 改为 300；手工设置过的不变。"]) == CHINESE
    )
    assert choose_model([]) == ENGLISH
